"""Check that profiling works here, and say what to do where it does not."""

from slicewise.report.tables import line_for_terminal
from slicewise.running.installation_checks import check_all
from slicewise.terminal.output import write_answer


def doctor() -> None:
    findings = list(check_all())
    width = max(len(finding.name) for finding in findings)
    lines = [
        line_for_terminal(
            ("ok      " if finding.is_fine else "not ok  ", "green" if finding.is_fine else "bold red"),
            f"{finding.name:{width}}  {finding.text}",
        )
        for finding in findings
    ]
    write_answer(lambda: {"checks": findings}, lines)
    raise SystemExit(0 if all(finding.is_fine for finding in findings) else 1)
