"""Jobs and amounts as options on the command line: NAME,key=value,... and 100MiB/s."""

from collections.abc import Collection
from dataclasses import dataclass

from slicewise.errors import UserError
from slicewise.text.amounts import amount

# The forms of --job, which help and complaints show.
MODEL_FORM = "NAME,volume=V[,processes=P][,nodes=N][,start=S][,cap=D][,weight=W]"
FITTED_FORM = "NAME,volume=V,processes=P[,nodes=N][,mounts=M][,outstanding=B][,start=S][,cap=D]"
POLICY_FORM = "NAME,volume=V,processes=P,start=S[,cap=D][,unit=U][,period=T[,phases=N]]"
COUNTS = ("processes", "nodes", "mounts")


@dataclass(frozen=True)
class JobOption:
    """A job as --job gives it: its name and values as text. option: what to call it in complaints."""

    option: str
    form: str
    name: str
    given: dict[str, str]

    def require(self, key: str, reason: str = "") -> str:
        """The value of a key. Raises UserError where it is missing."""
        if key not in self.given:
            raise UserError(f"{self.option}: {key} is missing{reason}; the form is {self.form}")
        return self.given[key]

    def count(self, key: str) -> int | None:
        """A count that was given; None where it was not. Raises UserError where it is none."""
        if key not in self.given:
            return None
        if not (self.given[key].isdecimal() and int(self.given[key])):
            raise UserError(f"{self.option}: {key}={self.given[key]} is not a count; give a whole number above 0")
        return int(self.given[key])

    def number(self, key: str, default: str | None = None) -> float:
        """A plain number. Raises UserError where it is none, or missing without a default."""
        text = self.given.get(key, default) if default is not None else self.require(key)
        try:
            return float(text)
        except ValueError as error:
            raise UserError(f"{self.option}: {key}={text} is not a number; give one such as 4 or 2.5") from error

    def amount(self, key: str, is_rate: bool) -> tuple[float, bool]:
        """An amount in bytes (a rate: bytes a second), or a plain number; and whether it had a unit."""
        return amount(self.given[key], f"{self.option}: {key}", is_rate)

    def amount_like_capacity(self, key: str, has_unit: bool, is_rate: bool) -> float:
        """An amount that must have a unit where --capacity has one, and none where it has none."""
        found, is_in_bytes = self.amount(key, is_rate)
        if is_in_bytes != has_unit:
            says, lacks = (
                ("has a unit", "--capacity has none") if is_in_bytes else ("has no unit", "--capacity has one")
            )
            raise UserError(
                f"{self.option}: {key}={self.given[key]} {says} and {lacks}; "
                "give all amounts with units, or all as plain numbers"
            )
        return found


def job_option(text: str, keys: Collection[str], form: str) -> JobOption:
    """A job from NAME,key=value,... with `keys`. Raises UserError with what is wrong and what is right."""
    name, *pairs = (part.strip() for part in text.split(","))
    option = f"--job {text}"
    if not name or "=" in name:
        raise UserError(f"{option}: has no name; the form is {form}")
    given: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or key not in keys:
            raise UserError(f"{option}: {pair!r} is not understood; the form is {form}")
        if key in given:
            raise UserError(f"{option}: {key} is there twice; give it once")
        given[key] = value
    return JobOption(option, form, name, given)


def require_names_of_their_own(names: Collection[str]) -> None:
    """Raises UserError for a name that is there twice."""
    names = list(names)
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UserError(f"--job {twice}: is there twice; give each job a name of its own")
