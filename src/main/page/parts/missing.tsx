import type { ComponentChildren } from "preact"
import type { PageError } from "../../../domain/page/PageCommand.ts"
import type { OfficeAddress, PageMember } from "../../../domain/page/PageEvent.ts"
import { currentOffice, memberCommand } from "../connection/store.ts"
import type { Fetched } from "../connection/api.ts"
import { CopyButton } from "./controls.tsx"
import { LongText, Name } from "./Text.tsx"

export const exampleCommand = (office: string): string => memberCommand("computer", office, "--config mcp.json")

export const Command = ({ text }: { readonly text: string }) => (
  <div class="row field">
    <LongText text={text} code />
    <CopyButton label="Copy" text={text} />
  </div>
)

/** Explains an empty view, with the command of the next step. */
export const Empty = ({ children, command }: { readonly children: ComponentChildren; readonly command?: string }) => (
  <div class="card tone-idle">
    <p>{children}</p>
    {command !== undefined && <Command text={command} />}
  </div>
)

/** An error with its code. An alert is read out at once. */
export const ErrorText = ({ error, isAlert = false }: { readonly error: PageError; readonly isAlert?: boolean }) => (
  <p class="error" {...(isAlert && { role: "alert" as const })}>
    <Name of={error.message} length={1_000} /> ({error.code})
  </p>
)

interface ReplyViewProps<R> extends Fetched<R> {
  readonly children: (reply: R) => ComponentChildren
}

/** The reply of a command, its error, or the state until the first of them. */
export const ReplyView = <R,>({ children, error, reply }: ReplyViewProps<R>) => {
  if (error !== undefined) return <ErrorText error={error} />
  return reply === undefined ? <p class="note">loading</p> : <>{children(reply)}</>
}

interface ComputerCardsProps {
  readonly address: OfficeAddress
  /** What the view shows, for an office without Computers. */
  readonly hint: string
  readonly children: (computer: PageMember) => ComponentChildren
}

/** A card for each Computer of an office; a hint and an example of a command without one. */
export const ComputerCards = ({ address, children, hint }: ComputerCardsProps) => {
  const { computers } = currentOffice(address)
  if (computers.length === 0)
    return <Empty command={exampleCommand(address.office)}>No Computer is in this office. {hint}</Empty>
  return computers.map((computer) => (
    <section key={computer.sid} class="card">
      <h2>
        <Name of={computer.name} />
      </h2>
      {children(computer)}
    </section>
  ))
}
