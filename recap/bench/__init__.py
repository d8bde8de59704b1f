"""The benchmark: workloads, the measuring loop, reports; `python -m recap.bench run`."""
