# ruff: noqa: E501 - texts of other programs are as wide as they are
"""Servers' counts as monitoring keeps them: Telegraf, LDMS, Prometheus, mmpmon, and CSV of one's own."""

import json

import polars as pl
import pytest
from slicewise.errors import UserError
from slicewise.imports.jobstats import read_served

MIB = 1 << 20
BEGIN = 1_795_000_000
# Of a job on a target: seconds after BEGIN, bytes written and read so far, opens so far.
READINGS = ((0, 10, 0, 5), (4, 30, 1, 5), (8, 6, 2, 9), (12, 16, 2, 29))
# It began anew at 8: what was done in the intervals.
WRITTEN = {(0, 4): 20, (4, 8): 6, (8, 12): 10}


def read(tmp_path, text, name="log"):
    (tmp_path / name).write_text(text)
    return read_served([tmp_path / name])


def written(found, target="lus-OST0000", job="4716"):
    own = found.filter(pl.col("target") == target, pl.col("job") == job, pl.col("write_bytes") > 0)
    rows = own.select("begin_ns", "end_ns", "write_bytes").rows()
    return {((b // 10**9) - BEGIN, (e // 10**9) - BEGIN): moved // MIB for b, e, moved in rows}


def test_csv_of_telegraf(tmp_path):
    """Outputs.file with data_format csv: rows of data and of metadata targets in one table."""
    text = "timestamp,measurement,host,jobid,name,jobstats_open,jobstats_close,jobstats_read_bytes,jobstats_read_calls,jobstats_write_bytes,jobstats_write_calls\n"
    for at, mib, more, opens in READINGS:
        text += f"{BEGIN + at},lustre2,oss1,4716,lus-OST0000,,,{more * MIB},{more},{mib * MIB},{mib}\n"
        text += f"{BEGIN + at},lustre2,mds1,4716,lus-MDT0000,{opens},{opens},,,,\n"
    found = read(tmp_path, text, "telegraf.csv")
    assert written(found) == WRITTEN
    of_metadata = found.filter(pl.col("target") == "lus-MDT0000")
    assert of_metadata["meta_ops"].sum() == 2 * (29 - 5)
    assert found["read_bytes"].sum() == 3 * MIB  # 1, 2 since it began anew, and none


@pytest.mark.parametrize("time", ["#Time", '#"Time"', "#Time_msec"])
def test_csv_of_ldms(tmp_path, time):
    text = f"{time},Time_usec,ProducerName,component_id,job_id,fs_name,ost,snapshot_time,read_bytes_sum,write_bytes_sum,getattr,setattr,punch,sync\n"
    for at, mib, more, _ in READINGS:
        text += f"{BEGIN + at}250,0" if "msec" in time else f"{BEGIN + at}.250000,250000"
        text += f",oss1,1,4716,lus,lus-OST0000,{BEGIN + at},{more * MIB},{mib * MIB},0,0,1,1\n"
    found = read(tmp_path, text, "lustre_ost_job_stats.csv")
    assert written(found) == WRITTEN
    assert found["begin_ns"].min() == BEGIN * 10**9 + 250_000_000


def series(metric, values, **labels):
    return {"metric": {"__name__": metric, "jobid": "4716", **labels}, "values": values}


def answer(*found):
    return {"status": "success", "data": {"resultType": "matrix", "result": list(found)}}


@pytest.mark.parametrize("form", ["json", "json list", "long"])
def test_a_range_query_of_prometheus(tmp_path, form):
    ost = {"component": "ost", "target": "lus-OST0000", "instance": "oss1:32221"}
    mdt = {"component": "mdt", "target": "lus-MDT0000", "instance": "mds1:32221"}
    data = series("lustre_job_write_bytes_total", [[BEGIN + at, str(mib * MIB)] for at, mib, _, _ in READINGS], **ost)
    opens, closes = (
        series(
            "lustre_job_stats_total", [[BEGIN + at, str(count)] for at, _, _, count in READINGS], operation=one, **mdt
        )
        for one in ("open", "close")
    )
    if form == "json":
        text = json.dumps(answer(data, opens, closes))
    elif form == "json list":
        text = json.dumps([answer(data), answer(opens, closes)])
    else:
        text = "time,metric,jobid,target,operation,value\n"
        for one in (data, opens, closes):
            labels = one["metric"]
            for time, value in one["values"]:
                text += f"{time},{labels['__name__']},{labels['jobid']},{labels['target']},{labels.get('operation', '')},{value}\n"
    found = read(tmp_path, text)
    assert written(found) == WRITTEN
    assert found.filter(pl.col("target") == "lus-MDT0000")["meta_ops"].sum() == 2 * (29 - 5)


def test_counts_that_were_asked_for_later_are_not_all_of_then(tmp_path):
    writes, reads = (
        series(f"lustre_job_{way}_bytes_total", [[BEGIN + at, "5000"] for at in times], target="lus-OST0000")
        for way, times in (("write", (0, 4, 8)), ("read", (4, 8)))
    )
    assert read(tmp_path, json.dumps([answer(writes), answer(reads)])).is_empty()


def test_mmpmon_of_gpfs(tmp_path):
    text = ""
    for at, mib, more, opens in READINGS:
        text += (
            f"_fs_io_s_ _n_ 10.0.0.1 _nn_ node1 _rc_ 0 _t_ {BEGIN + at} _tu_ 7431 _cl_ c1 _fs_ gpfs2 _d_ 2 _br_ {more * MIB} "
            f"_bw_ {mib * MIB} _oc_ {opens} _cc_ {opens} _rdc_ {more} _wc_ {mib} _dir_ 0 _iu_ 0\n"
        )
    found = read(tmp_path, text)
    assert written(found, "gpfs2", "node1") == WRITTEN
    assert found["is_client"].all()
    assert found["begin_ns"].min() == BEGIN * 10**9 + 7_431_000
    assert found["meta_ops"].sum() == 2 * (9 + 20)  # all counts of a line begin anew together


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_table_of_ones_own(tmp_path, separator):
    text = "begin,end,client,target,read_bytes,write_bytes,read_ops,meta_ops\n"
    text += f"{BEGIN},{BEGIN + 4}.5,10.0.0.1,brick1,1e6,4096,3,\n{BEGIN},{BEGIN},x,y,1,1,1,1\n{BEGIN},{BEGIN + 1},z,y,-5,1,1,1\n"
    told = []
    (tmp_path / "own.csv").write_text(text.replace(",", separator))
    (row,) = read_served([tmp_path / "own.csv"], told.append).rows(named=True)
    assert (row["job"], row["is_client"], row["read_bytes"], row["write_bytes"], row["read_ops"]) == (
        "10.0.0.1", True, 10**6, 4096, 3,
    )  # fmt: skip
    assert row["end_ns"] == (BEGIN + 4) * 10**9 + 500_000_000
    assert len(told) == 1
    assert "2 entries" in told[0]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.json", "{}", "holds no series"),
        ("a.json", '{"status":"error","error":"x"}', "holds no series"),
        ("a.json", "[" * 100_000, "is no JSON"),
        ("a.json", '{"data": {"result": [', "is no JSON"),
        ("a.json", '{"data":{"result":[{"metric":{"jobid":7},"values":[[1]]},5,null]}}', ""),
        ("a.csv", "time,jobid\n1,2\n", "no column with counts"),
        ("a.csv", "time,jobid,value\n1,2,x\n", "no column with counts"),
        ("a.csv", 'Time,"{__name__=""up""}"\n1,2\n', "has no column job"),
        ("a.csv", "time,x\n1,2\n", "has no column"),
        ("a", 'lustre_job_write_bytes_total{jobid="j"} 5\n', "give"),
        ("a.json", '{"data":{"result":[{"metric":{"jobid":"j"},"values":[[1795000000,"1"]]}]}}', "with a known name"),
        ("a", "mmpmon node 1 name n fs_io_s OK\ncluster: c\n", "give"),
    ],
)
def test_what_is_no_count_is_refused_in_one_line(tmp_path, name, text, said):
    (tmp_path / name).write_text(text)
    if not said:
        assert read_served([tmp_path / name]).is_empty()
        return
    with pytest.raises(UserError, match=said):
        read_served([tmp_path / name])


def test_numbers_and_times_that_nobody_has(tmp_path):
    text = "time,jobid,name,jobstats_write_bytes\n"
    for time, count in (
        (BEGIN, 1),
        (BEGIN + 4, 5),
        (BEGIN + 5, "9" * 40),
        (BEGIN + 6, "-1"),
        (BEGIN + 7, "NaN"),
        (BEGIN + 7.5, "1e400"),
        (BEGIN + 7.6, "many"),
        (BEGIN + 8, 7),
        ("x", 9),
        ("", 9),
    ):
        text += f"{time},j,t,{count}\n"
    told = []
    (tmp_path / "a.csv").write_text(text)
    assert read_served([tmp_path / "a.csv"], told.append)["write_bytes"].sum() == 6
    assert len(told) == 1
