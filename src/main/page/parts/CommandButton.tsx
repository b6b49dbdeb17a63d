import type { ComponentChildren } from "preact"
import { useState } from "preact/hooks"
import type { PageCommand } from "../../../domain/page/PageCommand.ts"
import { pageErrorOf, sendCommand } from "../connection/api.ts"
import { ConfirmDialog } from "./Dialog.tsx"
import { visibleLine } from "./visibleText.ts"

interface CommandButtonProps {
  readonly label: string
  /** The name of the button for screen readers, which states its object. */
  readonly description: string
  readonly title: string
  readonly command: PageCommand
  /** The consequences, for the dialog. */
  readonly children: ComponentChildren
}

/** A button that sends a command after a confirmation. */
export const CommandButton = ({ children, command, description, label, title }: CommandButtonProps) => {
  const [isOpen, setOpen] = useState(false)
  const [error, setError] = useState<string>()
  const open = () => {
    setError(undefined)
    setOpen(true)
  }
  const confirm = () => {
    sendCommand(command).then(
      () => setOpen(false),
      (failure: unknown) => setError(visibleLine(pageErrorOf(failure).message))
    )
  }
  return (
    <>
      <button type="button" class="small" aria-label={visibleLine(description)} onClick={open}>
        {label}
      </button>
      {isOpen && (
        <ConfirmDialog title={title} action={label} error={error} onConfirm={confirm} onClose={() => setOpen(false)}>
          {children}
        </ConfirmDialog>
      )}
    </>
  )
}
