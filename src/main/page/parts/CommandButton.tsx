import type { ComponentChildren } from "preact"
import { useEffect, useId, useRef, useState } from "preact/hooks"
import type { PageCommand } from "../../../domain/page/PageCommand.ts"
import { pageErrorOf, sendCommand } from "../connection/api.ts"
import { visibleLine } from "./visibleText.ts"

interface DialogProps {
  readonly title: string
  readonly children: ComponentChildren
  readonly onClose: () => void
}

/** A modal dialog. The browser keeps the focus inside, and returns it when the dialog closes. */
const Dialog = ({ children, onClose, title }: DialogProps) => {
  const element = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const opener = document.activeElement
    const dialog = element.current
    dialog?.showModal()
    return () => {
      dialog?.close()
      if (opener instanceof HTMLElement) opener.focus()
    }
  }, [])
  return (
    <dialog ref={element} aria-labelledby={id} onClose={onClose}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  )
}

interface ConfirmProps {
  readonly title: string
  readonly action: string
  readonly children: ComponentChildren
  readonly error: string | undefined
  readonly onConfirm: () => void
  readonly onClose: () => void
}

/** Asks before an action that changes an office. Cancel has the focus first. */
export const ConfirmDialog = ({ action, children, error, onClose, onConfirm, title }: ConfirmProps) => (
  <Dialog title={title} onClose={onClose}>
    {children}
    {error !== undefined && (
      <p class="error" role="alert">
        {error}
      </p>
    )}
    <div class="actions">
      <button type="button" onClick={onClose}>
        Cancel
      </button>
      <button type="button" class="danger" onClick={onConfirm}>
        {action}
      </button>
    </div>
  </Dialog>
)

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
