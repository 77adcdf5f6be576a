"""Help of a command, or of the settings."""

import click

from slicewise.settings import NOT_IN_A_FILE, Setting, settings

SETTINGS = "settings"
ABOUT_SETTINGS = (
    "Each setting is an environment variable, which the preloaded library reads at a process's start. In your file "
    "(slicewise config says where) its name is a key: slice = 2 is SLICEWISE_SLICE=2. The file holds for what "
    "slicewise starts; the environment overrides it, and an option overrides both."
)


def help(topic: list[str]) -> None:
    context = click.get_current_context()
    if topic != [SETTINGS]:
        context.find_root().command.main([*topic, "--help"], prog_name="slicewise", standalone_mode=False)
        return
    formatter = context.make_formatter()
    formatter.write_text(ABOUT_SETTINGS)
    for setting in settings():
        formatter.write(f"\n{setting.variable}\n")
        with formatter.indentation():
            formatter.write_text(_about(setting))
    click.echo(formatter.getvalue(), nl=False)


def _about(setting: Setting) -> str:
    facts = [f"default: {setting.default or 'empty'}"]
    if setting.takes:
        facts.append(setting.takes)
    if setting.variable in NOT_IN_A_FILE:
        facts.append("not in the file")
    return f"{setting.meaning}. [{'; '.join(facts)}]"
