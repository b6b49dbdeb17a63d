import type { ComponentChildren } from "preact"
import type { PageError } from "../../../domain/page/PageCommand.ts"
import type { Fetched } from "../connection/useReplies.ts"
import { Name } from "./Text.tsx"
import { quoteForShell } from "../../../domain/text/quoteForShell.ts"

/** The command that starts a Computer in an office. */
export const exampleCommand = (office: string): string =>
  `a2c computer --office ${quoteForShell(office)} --config mcp.json`

/** Explains an empty view, with the command of the next step. */
export const Empty = ({ children, command }: { readonly children: ComponentChildren; readonly command?: string }) => (
  <div class="empty">
    <p>{children}</p>
    {command !== undefined && (
      <pre>
        <code>{command}</code>
      </pre>
    )}
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
