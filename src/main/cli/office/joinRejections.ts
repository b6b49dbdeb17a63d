import { Clock, Effect } from "effect"
import { JoinRejected } from "../../../application/member/OfficeMember.ts"
import { formatDuration } from "../../../domain/text/format.ts"
import type { Role } from "../../../domain/model/Membership.ts"
import { AdmissionRejected } from "../../../application/ports/Transport.ts"
import { ownCodes } from "../../A2cError.ts"
import { CommandFailed, toCommandFailed } from "../../CommandFailed.ts"

/** The flags of a member's connection. */
type ConnectionOptions = { readonly [F in "server" | "tokenFile"]?: string | undefined }

const remedies: { readonly [R in Role]: string } = {
  agent:
    "Wait for the place with --wait SECONDS, replace the Agent with --take-over (same identity only), or choose another " +
    "--office.\nCommands of the same user on its machine use its connection: give the same --server, --name and token.",
  computer:
    "Choose another --name, wait for this one with --wait SECONDS, or replace the Computer with --take-over (same " +
    "identity only)."
}

const describeConflict = ({ current: { joinedAt, name } = {}, office }: JoinRejected, role: Role, now: number) => {
  const member = name === undefined ? "another one" : `'${name}'`
  // The clocks of Server and client may differ.
  const time = joinedAt === undefined ? "" : `, connected for ${formatDuration(Math.max(0, now - joinedAt))}`
  return role === "agent"
    ? `Office '${office}' has an Agent already: ${member}${time}.`
    : `Office '${office}' has a Computer of this name already: ${member}${time}.`
}

/** The Server of a rejected connection, and where its token came from. */
const describeConnection = ({ server = "", tokenFile }: ConnectionOptions, hasToken: boolean): string =>
  ` (Server at ${server}${hasToken ? `, token from ${tokenFile ?? "A2C_TOKEN"}` : ""})`

/** Explains a join that another member's place or the credentials prevent: the office, the member or the Server, and what to do. */
export const explainJoinRejection =
  (role: Role, options: ConnectionOptions) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | CommandFailed, R> =>
    Effect.catch(effect, (error): Effect.Effect<never, E | CommandFailed> => {
      if (error instanceof AdmissionRejected && error.reason !== undefined) {
        const connection = describeConnection(options, error.reason !== "missing_credentials")
        return Effect.fail(toCommandFailed({ ...error, message: error.message + connection }))
      }
      if (!(error instanceof JoinRejected) || error.current === undefined) return Effect.fail(error)
      return Effect.flatMap(Clock.currentTimeMillis, (now) =>
        Effect.fail(
          new CommandFailed({
            message: `${describeConflict(error, role, now)}\n${remedies[role]}`,
            code: ownCodes.JoinRejected
          })
        )
      )
    })
