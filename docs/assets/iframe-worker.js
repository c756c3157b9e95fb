// Pages that are opened as files may not start workers. The search of the theme runs in a hidden frame instead.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super()
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.body.append(this.frame)
      const inside = (this.inside = this.frame.contentWindow)
      inside.answer = (data) => {
        const event = new MessageEvent("message", { data })
        this.dispatchEvent(event)
        if (this.onmessage) this.onmessage(event)
      }
      inside.postMessage = (data) => setTimeout(() => inside.answer(data))
      inside.importScripts = (...urls) => Promise.all(urls.map((source) => load(inside.document, source)))
      this.ready = load(inside.document, url)
    }
    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })))
    }
    terminate() {
      this.frame.remove()
    }
  }
  function load(page, source) {
    return new Promise((done, failed) => {
      const script = page.createElement("script")
      script.src = source
      script.onload = done
      script.onerror = failed
      page.head.append(script)
    })
  }
  window.Worker = window.IFrameWorker
}
