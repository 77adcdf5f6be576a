"""Check that profiling works here, and say what to do where it does not."""

from slicewise.report.tables import line_for_terminal
from slicewise.running.installation_checks import check_all
from slicewise.terminal.output import wants_json, write_json, write_text


def doctor() -> None:
    findings = list(check_all())
    if wants_json():
        write_json({"checks": findings})
    else:
        width = max(len(finding.name) for finding in findings)
        write_text(
            [
                line_for_terminal(
                    ("ok      " if finding.is_fine else "not ok  ", "green" if finding.is_fine else "bold red"),
                    f"{finding.name:{width}}  {finding.text}",
                )
                for finding in findings
            ]
        )
    raise SystemExit(0 if all(finding.is_fine for finding in findings) else 1)
