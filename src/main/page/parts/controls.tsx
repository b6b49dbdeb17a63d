import type { ComponentChildren } from "preact"
import { useState } from "preact/hooks"
import { visibleLine } from "./visibleText.ts"

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
      <SmallButton onPress={copy}>{label}</SmallButton>
      <span role="status">{outcome}</span>
    </span>
  )
}

interface SmallButtonProps {
  /** The name of the button for screen readers, when it states more than the text. */
  readonly description?: string
  readonly onPress: () => void
  readonly children: ComponentChildren
}

export const SmallButton = ({ children, description, onPress }: SmallButtonProps) => (
  <button
    type="button"
    class="small"
    {...(description !== undefined && { "aria-label": visibleLine(description) })}
    onClick={onPress}
  >
    {children}
  </button>
)

interface SelectProps {
  readonly value: string | number
  readonly options: ReadonlyArray<readonly [value: string | number, label: string]>
  readonly onSelect: (value: string) => void
  /** Other attributes of the element. */
  readonly attributes?: { readonly [name: string]: string | boolean | undefined }
}

/** A choice among labelled values. */
export const Select = ({ attributes, onSelect, options, value }: SelectProps) => (
  <select {...attributes} value={value} onChange={(event) => onSelect(event.currentTarget.value)}>
    {options.map(([one, label]) => (
      <option key={one} value={one}>
        {label}
      </option>
    ))}
  </select>
)
