"""Batches and files of every vendor: kept on disk, carried out by the clock, broken by script.

How a vendor's endpoints are put on it (see endpoints/openai_batches.py for a whole one):

- A `Manner` (job.py) says what a row asks, how a row of the results is written and into which
  result, and how long the vendor's window is. One object serves all batches of one mount.
- A route whose body goes to disk states `most` bytes (routes.py); the act finds it in
  `exchange.upload`. `memory.shelf.keep(…)` makes it a file with an id; `array_to_lines` turns
  a body such as {"requests": […]} into a file of one row a line, in little memory.
- `memory.jobs.create(Order(…), now)` makes a batch, and `created(exchange, job, body)` answers,
  or loses the answer as the script says. Both are to be called once per create.
- `memory.jobs.find/listed/cancel` know whose batch is whose. A `Job` says how it stands:
  `job.phase(now)`, and once that is ENDED: `job.end`, `job.counts`, `job.results[name]`.
- `fetched(exchange, stored)` streams a result, or breaks it as the script says.
- Every route about batches is marked `batches=True`: what is due is carried out before it answers.
"""
