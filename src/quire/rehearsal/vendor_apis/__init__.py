"""The vendors' APIs as a server speaks them: calls, files and batches.

How a vendor's batches are put on the server (openai_batch_endpoints.py is a whole one):

- A `BatchEndpoint` (batch_jobs.py) says what a row asks, how a row of the results is written and
  into which result, how long the window is, and what is checked before anything runs (nothing,
  where the vendor checks at create: then `checker` returns a function that does nothing). One
  object serves all batches under one prefix, and it is a `VendorEndpoint` besides: routes.py names
  it for its errors.
- Actions are methods `(exchange, raw) -> ResponsePlan`. `exchange.admit()` returns the key,
  `exchange.state` has `jobs`, `files` and `clock`, `exchange.reply_json(json)` answers.
- A route whose body goes to disk states `ServerRoute.most_bytes`; the action finds it in
  `exchange.upload` (a form's file, or the body itself) and `state.files.keep_upload` keeps it.
  `array_to_lines` turns a body such as {"requests": […]} into a file of one row a line, in little
  memory.
- `state.jobs.create(BatchOrder(…), now)` makes a batch, and `replies.confirm_batch(exchange, job,
  body)` answers, or loses the answer as the script says. Where the queue is full, `create` raises
  ApiProblem(RATE) where `BatchEndpoint.refuses_when_full`, and else makes a batch that has
  failed.
- `state.jobs.find/list_owned/cancel/delete` know whose batch is whose. A `BatchJob` says how it
  stands: `job.phase(now)`, and once that is ENDED: `job.end`, `job.counts`, `job.results[name]`.
- `replies.send_file(exchange, stored, content_type)` streams a result, or breaks it off.
- Routes that tell how a batch stands have `batches=True`: what is due is carried out before."""
