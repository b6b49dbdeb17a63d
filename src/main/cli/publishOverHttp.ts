import { Effect, type Redacted } from "effect"
import { allowAll, Authenticator } from "../../application/ports/Authenticator.ts"
import type { PageSource } from "../../application/shared/page/PageSource.ts"
import { authenticateOperatorByToken } from "../../adapters/auth/CredentialScheme.ts"
import { publishHttp } from "../../adapters/mcp/publish/http/publishHttp.ts"
import { serveAppSandbox } from "../../adapters/page/appSandbox.ts"
import { makeOfficePage } from "../../adapters/page/OfficePage.ts"
import { officePagePath } from "../../domain/page/route.ts"
import { builtPage } from "../layers/transportLayer.ts"
import type { McpSession } from "../../application/ports/McpSession.ts"
import { printLine } from "./output/print.ts"
import { requireCredentials } from "./requireCredentials.ts"

interface PublishOptions {
  readonly host: string
  readonly port: number
  readonly token: Redacted.Redacted | undefined
  /** The office page to serve beside it. */
  readonly page?: PageSource | undefined
}

const noPage = () => false

const servePage = ({ host, page: source, token }: PublishOptions) =>
  source === undefined
    ? Effect.succeed(noPage)
    : Effect.flatMap(serveAppSandbox({ assets: builtPage() }), (sandbox) =>
        Effect.provideService(
          makeOfficePage({ assets: builtPage(), allowedHosts: [host.toLowerCase()], sandbox, source }),
          Authenticator,
          token === undefined ? allowAll : authenticateOperatorByToken(token)
        )
      )

/** Publishes a session over Streamable HTTP for as long as the scope, and prints its URL; `label` names the session. */
export const publishOverHttp = Effect.fnUntraced(function* (
  session: McpSession,
  label: string,
  options: PublishOptions
) {
  const { host, page, port, token } = options
  yield* requireCredentials(
    host,
    token !== undefined,
    `the MCP server of ${label}`,
    "set A2C_MCP_TOKEN, or listen on 127.0.0.1"
  )
  const handleOther = yield* servePage(options)
  const { url } = yield* publishHttp(session, { host, port, token: token ?? "allowAll", handleOther })
  yield* printLine(`publishing ${label} at ${url}`)
  if (page !== undefined) yield* printLine(`office page at ${new URL(officePagePath, url).href}`)
})
