"""FTIO's JSON: the bandwidth of a job over its runtime, of reads and of writes, at the level of the application.

FTIO (https://github.com/tuda-parallel/FTIO) finds periods of I/O; `ftio FILE -m write_sync` reads this.
"""

import json

from slicewise.analysis.job.io_time import own_slices
from slicewise.analysis.job.phases import moved_bytes
from slicewise.digest.activity import DIRECTIONS, members
from slicewise.digest.digest import Digest


def ftio_json(digest: Digest) -> str:
    """`read_sync` and `write_sync`, each with total_bytes, number_of_ranks and bandwidth: bytes/s (b_overlap_avr) from
    each of the times (t_overlap: seconds since the job's first slice with I/O) on, the last one 0."""
    moved = moved_bytes(own_slices(digest))
    seconds = digest.slice_ns / 1e9
    times = [place * seconds for place in range(moved.height + 1)] if moved.height else []
    ranks = members(digest).height
    record = {}
    for direction in DIRECTIONS:
        amounts = moved[f"{direction}_bytes"].to_list()
        record[f"{direction}_sync"] = {
            "total_bytes": int(sum(amounts)),
            "number_of_ranks": ranks,
            "bandwidth": {
                "b_overlap_avr": [amount / seconds for amount in amounts] + [0.0] * bool(amounts),
                "t_overlap": times,
            },
        }
    return json.dumps(record)
