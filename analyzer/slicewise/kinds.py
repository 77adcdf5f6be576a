"""Names that many rooms share: kinds of calls, and options of several commands. Quickly imported, for help."""

from typing import Literal, get_args

KINDS = ("read", "write", "meta", "sync")
# The kind of waits of threads that are no waits for each other.
ACCELERATOR = "accelerator"
# The direction in which jobs are compared; auto: whichever moved more bytes.
CampaignDirection = Literal["auto", "read", "write"]
# What a folded stack counts.
Cost = Literal["time", "bytes", "calls"]
# Other tools' formats of a profile.
ExportFormat = Literal["ftio", "folded", "csv", "parquet"]
# How jobs that take turns decide, what can only be simulated, and what a policy is judged by.
Policy = Literal["interfere", "fcfs", "interrupt", "delay", "dynamic", "set10"]
Simulable = Literal[Policy, "set10_shares"]
Metric = Literal["cpu_seconds", "sum_interference", "makespan", "worst_slowdown"]
POLICIES: tuple[Policy, ...] = get_args(Policy)
METRICS: tuple[Metric, ...] = get_args(Metric)
# How sure an answer is, the surest first (docs/models.md); those that may accuse somebody; and one step less sure.
Confidence = Literal["high", "medium", "low", "unknown"]
CONFIDENCES: tuple[Confidence, ...] = get_args(Confidence)
SURE: tuple[Confidence, ...] = ("high", "medium")
LESS_SURE: dict[Confidence, Confidence] = {"high": "medium", "medium": "low", "low": "low", "unknown": "unknown"}
