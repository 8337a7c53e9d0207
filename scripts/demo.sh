#!/usr/bin/env bash
# See Quire work: everything happens in the folder demo/, with a simulated model, for nothing.
set -euo pipefail

cd "$(dirname "$0")/.."
rm -rf demo
mkdir demo
cd demo

say() { printf '── %s\n\n' "$*"; }
show() { printf '$ %s\n' "$*"; "$@"; echo; }

say "1. A folder for the work, and documents in it"
show quire init
show quire ingest ../examples/contracts ../examples/notes.txt
show quire ingest ../examples/tickets.csv ../examples/feedback.jsonl --text-column text
show quire schema add ../examples/clauses.json

say "2. What it would take: one block per call, or packed"
show quire plan --schema clauses --model simulated/small

say "3. Twenty blocks to try it, then the same command for the rest"
show quire run --schema clauses --model simulated/small --limit 20
show quire run --schema clauses --model simulated/small
show quire status

say "4. What came out"
show quire show --limit 8
show quire export --output results.jsonl

say "5. The same with a model that skips blocks and a provider that is busy: nothing is lost"
export QUIRE_SIMULATED_FAULTS="skip=0.05,429=0.05,seed=1"
show quire run --schema clauses --model simulated/small --max-tries 9 --new --no-reuse
unset QUIRE_SIMULATED_FAULTS

cat <<'TEXT'
── What next

  export PATH="$PWD/.venv/bin:$PATH"; cd demo    the ledger and results.jsonl are there
  quire ledger 1 --request 1      a call in full: what was sent, what came back, who accepted it
  quire prompt 1                  exactly what the model is asked about a block
  quire --help                    everything else

Everything above was simulated: no model was called, and no money was spent.
TEXT
