"""The extraction kernel: parsed blocks in, pair counts out; and the job around it."""
