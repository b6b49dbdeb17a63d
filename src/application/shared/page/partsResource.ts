import { Effect } from "effect"
import { type InspectedPart, maxOffers, maxParts, partsCodec, partsUri } from "../../../domain/page/Inspection.ts"
import type { JsonObject } from "../../../domain/json.ts"
import { type McpSession, protocolFailure } from "../../ports/McpSession.ts"
import type { SessionBase } from "../toolsOnlySession.ts"

const mimeType = "application/json"

const definition: JsonObject = {
  uri: partsUri,
  name: "parts",
  description: "The state of the devices or tool packs behind the tools",
  mimeType
}

/** Adds the resource {@link partsUri} to a session with tools only. */
export const withParts = ({ info, ...base }: SessionBase, parts: () => ReadonlyArray<InspectedPart>): SessionBase => ({
  ...base,
  info: { ...info, capabilities: { ...info.capabilities, resources: true } },
  listResources: () => Effect.succeed({ items: [definition], nextCursor: undefined }),
  readResource: (uri) =>
    uri === partsUri
      ? Effect.sync(() => {
          const listed = parts()
            .slice(0, maxParts)
            .map((part) => ({ ...part, offers: part.offers.slice(0, maxOffers) }))
          return [{ uri, mimeType, text: partsCodec.encode(listed) }]
        })
      : Effect.fail(protocolFailure(-32002, `Resource ${JSON.stringify(uri)} not found`))
})

/** Reads the parts of a session that has them; `undefined` where it does not give them in time. */
export const readParts = (server: string, session: Pick<McpSession, "readResource">) =>
  session.readResource(partsUri).pipe(
    Effect.flatMap(([content = {}]) => Effect.fromResult(partsCodec.decode(content["text"]))),
    Effect.timeout("2 seconds"),
    Effect.catch((error) => Effect.as(Effect.logDebug("parts not read", { server, reason: String(error) }), undefined))
  )
