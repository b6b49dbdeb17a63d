import { useState } from "preact/hooks"

/** Copies a text to the clipboard, and says so. */
export const CopyButton = ({ label, text }: { readonly label: string; readonly text: string }) => {
  const [outcome, setOutcome] = useState("")
  const copy = () => {
    // Pages without TLS have no clipboard, except on loopback.
    const clipboard: Clipboard | undefined = navigator.clipboard
    const written = clipboard?.writeText(text) ?? Promise.reject(new Error("no clipboard"))
    written.then(
      () => setOutcome("copied"),
      () => setOutcome("The browser does not allow copying: select the text")
    )
  }
  return (
    <span>
      <button type="button" class="small" onClick={copy}>
        {label}
      </button>{" "}
      <span role="status">{outcome}</span>
    </span>
  )
}
