"""A headless Chromium driven over its debugging pipe, for tests that must see a page as a reader does."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

# axe-core, which `make axe` fetches.
AXE = Path(__file__).resolve().parents[2] / "build/axe/axe.min.js"
EXECUTABLES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--remote-debugging-pipe",
)  # fmt: skip


def executable() -> str | None:
    """The browser's path, or None where there is none that runs (Ubuntu's is a stub that asks for a snap)."""
    for name in EXECUTABLES:
        path = shutil.which(name)
        if path and subprocess.run([path, "--version"], capture_output=True, check=False).returncode == 0:
            return path
    return None


# True once a page has drawn its charts, or said that it cannot.
DRAWN = "document.documentElement.dataset.drawn || !document.getElementById('trouble').hidden"
# Charts are drawn anew in steps, each begun within 100 ms of the one before: true once none has changed for longer.
STILL = """new Promise((done) => {
    let before, since;
    (function look() {
        const charts = [...document.querySelectorAll('.chart')].map((chart) => [
            chart.clientWidth, chart.clientHeight, chart.querySelector('.main-svg')?.outerHTML.length]);
        if (before !== (before = JSON.stringify(charts))) since = performance.now();
        if (performance.now() - since > 250) done(); else setTimeout(look, 25);
    })();
})"""
needed = pytest.mark.skipif(
    executable() is None, reason="no Chromium that runs: pages are not looked at (apt-get install chromium)"
)


class Browser:
    """One tab. What the page asked the network for is in `requests`, what went wrong in it in `troubles`."""

    def __init__(self, width: int = 1400, height: int = 1000, timeout: float = 60.0) -> None:
        path = executable()
        if path is None:
            raise FileNotFoundError("no Chromium")
        self.timeout = timeout
        self.requests: list[str] = []
        self.troubles: list[str] = []
        self._profile = tempfile.TemporaryDirectory(prefix="slicewise-browser-", ignore_cleanup_errors=True)
        commands_out, self._commands = os.pipe()
        self._answers, answers_in = os.pipe()
        # The pipe's ends must be descriptors 3 and 4 of the browser.
        redirect = f'exec "$@" 3<&{commands_out} 4>&{answers_in}'
        self._process = subprocess.Popen(
            ["bash", "-c", redirect, "browser", path, *FLAGS, f"--user-data-dir={self._profile.name}", "about:blank"],
            pass_fds=(commands_out, answers_in),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands_out)
        os.close(answers_in)
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self._call(f"{domain}.enable")
        self.resize(width, height)

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(timeout=20)
        os.close(self._commands)
        os.close(self._answers)
        self._profile.cleanup()

    def resize(self, width: int, height: int) -> None:
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def prefer(self, scheme: str) -> None:
        """ "light" or "dark"."""
        self._call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, page: Path, until: str) -> None:
        """Open a file and wait until the expression `until` is true in it."""
        self._call("Page.navigate", url=page.resolve().as_uri())
        self.wait_for("document.readyState === 'complete' && document.URL.startsWith('file:')")
        self.wait_for(until)

    def processor_seconds(self) -> float:
        """What the browser and all its processes have had of processors: a busy machine adds nothing to it."""
        ticks, parents = 0, [self._process.pid]
        while parents:
            pid = parents.pop()
            for task in Path(f"/proc/{pid}/task").glob("*"):
                with contextlib.suppress(OSError):
                    parents += (task / "children").read_text().split()
                    ticks += sum(map(int, (task / "stat").read_text().rpartition(") ")[2].split()[11:13]))
        return ticks / os.sysconf("SC_CLK_TCK")

    def main_thread_seconds(self) -> float:
        """What the main thread of the page's process has had of a processor, once it has nothing left to do. Pages
        that were in the same process before are in it, too.
        """
        self._call("Performance.enable")
        self.evaluate("new Promise((done) => requestIdleCallback(() => done()))")
        metrics = self._call("Performance.getMetrics")["metrics"]
        return next(metric["value"] for metric in metrics if metric["name"] == "ThreadTime")

    def wait_for(self, expression: str) -> None:
        deadline = time.monotonic() + self.timeout
        while not self.evaluate(f"Boolean({expression})"):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{expression} did not come true; troubles: {self.troubles}")
            time.sleep(0.02)

    def evaluate(self, expression: str) -> object:
        """The JSON value of an expression (a promise's when it is one)."""
        answer = self._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def serious_findings(self) -> list[list[str]]:
        """What axe-core finds wrong with the accessibility of the page, of what it calls serious or critical: the rule
        and the first element. AXE must be there.
        """
        self.evaluate("Boolean(window.axe)") or self.evaluate(f"{AXE.read_text()}\n;0")
        return self.evaluate(
            "axe.run().then(({ violations }) => violations.filter(({ impact }) => /serious|critical/.test(impact))"
            ".map(({ id, nodes }) => [id, nodes[0].html]))"
        )

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Press the mouse at `start`, move to `end` and let go."""
        self._mouse("mouseMoved", start, 0)
        self._mouse("mousePressed", start, 1)
        for step in (0.3, 0.7, 1.0):
            self._mouse("mouseMoved", tuple(a + (b - a) * step for a, b in zip(start, end, strict=True)), 1)
        self._mouse("mouseReleased", end, 0)

    def picture(self, path: Path, quality: int) -> None:
        """What the window shows, as webp."""
        answer = self._call("Page.captureScreenshot", format="webp", quality=quality)
        path.write_bytes(base64.b64decode(answer["data"]))

    def _mouse(self, kind: str, at: tuple[float, float], buttons: int) -> None:
        self._call(
            "Input.dispatchMouseEvent",
            type=kind,
            x=at[0],
            y=at[1],
            button="left" if buttons or kind == "mouseReleased" else "none",
            buttons=buttons,
            clickCount=1,
        )

    def _call(self, method: str, **parameters: object) -> dict:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next_message()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self._note(answer)

    def _note(self, event: dict) -> None:
        method, parameters = event.get("method"), event.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.troubles.append(json.dumps(parameters["exceptionDetails"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.troubles.append(parameters["entry"]["text"])

    def _next_message(self) -> dict:
        deadline = time.monotonic() + self.timeout
        while b"\0" not in self._buffer:
            if not select.select([self._answers], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            chunk = os.read(self._answers, 1 << 20)
            if not chunk:
                raise ConnectionError("the browser is gone")
            self._buffer += chunk
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)
