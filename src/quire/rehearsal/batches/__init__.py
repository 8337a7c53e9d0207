"""Batches and files of every vendor: kept on disk, carried out by the clock, broken by script.

How a vendor's endpoints are put on it (endpoints/openai_batches.py is a whole one):

- A `Manner` (job.py) says what a row asks, how a row of the results is written and into which
  result, how long the window is, and what is checked before anything runs (nothing, where the
  vendor checks at create: then `checker` returns a function that does nothing). One object serves
  all batches under one prefix, and it is a `Vendor` besides: routes.py names it for its errors.
- Acts are methods `(exchange, raw) -> Decision`. `exchange.admit()` returns the key,
  `exchange.memory` has `jobs`, `shelf` and `clock`, `exchange.plain(json)` answers.
- A route whose body goes to disk states `most` bytes; the act finds it in `exchange.upload`
  (a form's file, or the body itself) and `memory.shelf.take` keeps it. `array_to_lines` turns
  a body such as {"requests": […]} into a file of one row a line, in little memory.
- `memory.jobs.create(Order(…), now)` makes a batch, and `replying.created(exchange, job, body)`
  answers, or loses the answer as the script says. Where the queue is full, `create` raises
  Problem(RATE) for a manner that `refuses`, and for others makes a batch that has failed.
- `memory.jobs.find/listed/cancel/delete` know whose batch is whose. A `Job` says how it stands:
  `job.phase(now)`, and once that is ENDED: `job.end`, `job.counts`, `job.results[name]`.
- `replying.fetched(exchange, stored, content_type)` streams a result, or breaks it off.
- Routes that tell how a batch stands have `batches=True`: what is due is carried out before.
"""
