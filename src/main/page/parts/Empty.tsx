import type { ComponentChildren } from "preact"
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
