"""What tests use and is no test: servers, child processes, bodies, dumps, slow computations of what must come."""

# Any moment does: the demo market answers for every one.
NOW = 1_790_000_000
