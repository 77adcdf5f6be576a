/* Browsers start no worker from file://. There this stands in for one: a hidden frame that runs the worker's script, for the site's search. */
"use strict";
if (location.protocol === "file:") {
    class IFrameWorker extends EventTarget {
        constructor(url) {
            super();
            const frame = document.createElement("iframe");
            frame.hidden = true;
            document.body.append(frame);
            const inside = frame.contentWindow;
            inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }));
            inside.importScripts = (...urls) =>
                urls.reduce((before, one) => before.then(() => this.load(one)), Promise.resolve());
            this.frame = frame;
            this.isLoaded = this.load(new URL(url, location.href).href);
        }
        load(url) {
            return new Promise((done, failed) => {
                const script = this.frame.contentDocument.createElement("script");
                script.onload = done;
                script.onerror = failed;
                script.src = url;
                this.frame.contentDocument.body.append(script);
            });
        }
        postMessage(data) {
            this.isLoaded.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
        }
        set onmessage(told) {
            this.addEventListener("message", told);
        }
        terminate() {
            this.frame.remove();
        }
    }
    window.IFrameWorker = IFrameWorker;
    window.Worker = IFrameWorker;
}
