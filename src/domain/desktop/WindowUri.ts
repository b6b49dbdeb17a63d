import { Data, Result } from "effect"
import { checkUriParts, formatUri, parseUri, queryParameter } from "../uri.ts"

/** The parts of a `window://` URI (seed 001); `null` where the URI has no such parameter. */
export interface WindowUri {
  readonly host: string
  readonly path: ReadonlyArray<string>
  /** 0…100; compared only among windows of one MCP server. */
  readonly priority: number | null
  readonly fullscreen: boolean | null
}

/** An invalid window URI with the reason. The desktop omits its window. */
export class InvalidWindowUri extends Data.TaggedError("InvalidWindowUri")<{
  readonly uri: string
  readonly reason: string
}> {
  override get message(): string {
    return `Invalid window URI ${JSON.stringify(this.uri)}: ${this.reason}`
  }
}

const truthy = ["true", "1", "yes", "on"]
const words = [...truthy, "false", "0", "no", "off"]

const parsePriority = (text: string | undefined): Result.Result<number | null, string> => {
  if (text === undefined) return Result.succeed(null)
  return /^[0-9]{1,3}$/.test(text) && Number(text) <= 100
    ? Result.succeed(Number(text))
    : Result.fail("priority must be an integer from 0 to 100")
}

const parseFullscreen = (text: string | undefined): Result.Result<boolean | null, string> => {
  if (text === undefined) return Result.succeed(null)
  const word = text.trim().toLowerCase()
  return words.includes(word)
    ? Result.succeed(truthy.includes(word))
    : Result.fail(`fullscreen must be one of ${words.join(", ")}`)
}

/** Parses `window://host[/segment…][?priority=P&fullscreen=F]` (spec §9.2, cases 219–228). */
export const parseWindowUri = (uri: string): Result.Result<WindowUri, InvalidWindowUri> =>
  Result.gen(function* () {
    const { host, path, query = "", scheme } = yield* parseUri(uri)
    if (scheme !== "window") return yield* Result.fail("the scheme must be window")
    return {
      host,
      path,
      priority: yield* parsePriority(yield* queryParameter(query, "priority")),
      fullscreen: yield* parseFullscreen(yield* queryParameter(query, "fullscreen"))
    }
  }).pipe(Result.mapError((reason) => new InvalidWindowUri({ uri, reason })))

/**
 * Formats a window URI without the parameters that are `null`. The inverse of {@link parseWindowUri}: rejects what it
 * rejects, and parts that it would read otherwise.
 */
export const buildWindowUri = ({
  fullscreen = null,
  host,
  path = [],
  priority = null
}: Partial<WindowUri> & Pick<WindowUri, "host">): Result.Result<string, InvalidWindowUri> => {
  const query = [
    ...(priority === null ? [] : [`priority=${priority}`]),
    ...(fullscreen === null ? [] : [`fullscreen=${fullscreen}`])
  ].join("&")
  const uri = `${formatUri("window", host, path)}${query === "" ? "" : `?${query}`}`
  return checkUriParts(host, path).pipe(
    Result.mapError((reason) => new InvalidWindowUri({ uri, reason })),
    Result.andThen(parseWindowUri(uri)),
    Result.map(() => uri)
  )
}

export const hasWindowScheme = (uri: string): boolean => /^window:/i.test(uri)

/** True for a valid window URI. Only changes of valid windows are announced (spec §9.6). */
export const isWindowUri = (uri: string): boolean => Result.isSuccess(parseWindowUri(uri))
