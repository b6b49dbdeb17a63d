import type { DecidedCall } from "../../../../domain/page/calls/openApprovals.ts"
import { officeHash } from "../../../../domain/page/route.ts"
import { Name } from "../../parts/Text.tsx"
import { formatDateTime } from "../../parts/time.ts"

/** The latest calls that approvers have decided. */
export const DecidedCalls = ({ calls }: { readonly calls: ReadonlyArray<DecidedCall> }) => (
  <div class="scroll wide" tabIndex={0} role="group" aria-label="Latest decisions">
    <table>
      <thead>
        <tr>
          <th scope="col">Tool</th>
          <th scope="col">Agent</th>
          <th scope="col">Computer</th>
          <th scope="col">Decision</th>
          <th scope="col">By</th>
          <th scope="col">Time</th>
        </tr>
      </thead>
      <tbody>
        {calls.map(({ at, call, decision }) => (
          <tr key={call.id}>
            <th scope="row">
              <a href={officeHash(call, "calls", { call: call.id })}>
                <Name of={call.tool ?? call.event} />
              </a>
            </th>
            <td>
              <Name of={call.agent} />
            </td>
            <td>
              <Name of={call.computer} />
            </td>
            <td class={decision.isAllowed ? "good" : "bad"}>{decision.isAllowed ? "allowed" : "denied"}</td>
            <td>
              <Name of={decision.by} />
            </td>
            <td>{formatDateTime(at)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)
