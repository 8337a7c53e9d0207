"""The settings file that `quire init` writes: what there is to say, and what holds unless told."""

TEMPLATE = """\
# Quire's settings for this folder. Flags win over a schema's prompt_config, that over this file,
# this file over the environment (QUIRE_LEDGER, QUIRE_MODEL, QUIRE_PACK_SIZE, …).

ledger = "quire.db"            # or postgresql://user@host/database
# model = "anthropic/claude-haiku-5-5"   # who is asked without --model; wins over QUIRE_MODEL

[policy]
# pack_size = 10               # blocks per call; left out, the schema's class decides
# max_tries = 3                # wrong answers before a block fails
# concurrency = 16             # calls in flight

[review]
# name = "Ada"                 # who reviews at this machine
# lease = 15                   # minutes that an item is one reviewer's

[aliases]
# cheap = "openai/gpt-6-luna"  # a short name for --model; `quire models` lists what there is

# [providers.openai]
# key_env = "MY_OPENAI_KEY"    # the variable that holds the key, if not OPENAI_API_KEY
# base_url = "https://gateway.example/v1"
# headers = { X-Team = "research", X-Gateway-Key = "$GATEWAY_KEY" }   # $ names a variable

# [models."compatible/my-model@http://10.0.0.5:8000/v1"]
# window = 32768               # tokens, input and output together
# max_output = 4096
# input = 0.25                 # dollars per million tokens
# output = 2.00
"""
