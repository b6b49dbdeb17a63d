import type { ComponentChildren } from "preact"
import { useEffect, useId, useRef, useState } from "preact/hooks"
import type { PageCommand } from "../../../domain/page/PageCommand.ts"
import { sendCommand, useAction } from "../connection/api.ts"
import { SmallButton } from "./controls.tsx"
import { ErrorText } from "./missing.tsx"

interface ConfirmProps {
  readonly title: string
  readonly action: string
  readonly children: ComponentChildren
  readonly onConfirm: () => void
  readonly onClose: () => void
}

/**
 * Asks before an action that changes an office. Cancel has the focus first. The browser keeps the focus inside; it returns
 * when the dialog closes.
 */
export const ConfirmDialog = ({ action, children, onClose, onConfirm, title }: ConfirmProps) => {
  const element = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const dialog = element.current
    dialog?.showModal()
    return () => dialog?.close()
  }, [])
  return (
    <dialog ref={element} aria-labelledby={id} onClose={onClose}>
      <h2 id={id}>{title}</h2>
      {children}
      <div class="row field">
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <button type="button" class="danger" onClick={onConfirm}>
          {action}
        </button>
      </div>
    </dialog>
  )
}

interface CommandDialogProps {
  readonly label: string
  readonly title: string
  readonly command: PageCommand
  /** The consequences. */
  readonly children: ComponentChildren
  readonly onClose: () => void
}

const CommandDialog = ({ children, command, label, onClose, title }: CommandDialogProps) => {
  const { error, run } = useAction<void>()
  const send = () => run(() => sendCommand(command).then(onClose))
  return (
    <ConfirmDialog title={title} action={label} onConfirm={send} onClose={onClose}>
      {children}
      {error && <ErrorText error={error} isAlert />}
    </ConfirmDialog>
  )
}

interface CommandButtonProps extends Omit<CommandDialogProps, "onClose"> {
  /** The name of the button for screen readers, which states its object. */
  readonly description: string
}

/** A button that sends a command after a confirmation. */
export const CommandButton = ({ description, ...dialog }: CommandButtonProps) => {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <SmallButton description={description} onPress={() => setOpen(true)}>
        {dialog.label}
      </SmallButton>
      {isOpen && <CommandDialog {...dialog} onClose={() => setOpen(false)} />}
    </>
  )
}
