import { formatServerNames } from "../../../../domain/model/CallStatus.ts"
import { Name } from "../../parts/Text.tsx"
import type { PageTools } from "./useOfficeTools.ts"

/** States which tools are missing, and why. */
export const ToolNotes = ({ errors, starting }: Pick<PageTools, "errors" | "starting">) => (
  <>
    {starting.map(({ computer, servers }) => (
      <p key={`starting ${computer}`} class="note">
        <Name of={computer} />: MCP servers start, their tools are missing: <Name of={formatServerNames(servers)} />
      </p>
    ))}
    {errors.map(({ computer, error }) => (
      <p key={`error ${computer}`} class="error">
        <Name of={computer} />: <Name of={error.message} length={1_000} /> ({error.code})
      </p>
    ))}
  </>
)
