import { win32 } from "node:path"
import { Effect, Layer, Option, Redacted, Result } from "effect"
import { CredentialStore, CredentialsUnavailable } from "../../application/ports/CredentialStore.ts"
import type { JsonObject } from "../../domain/json.ts"
import { homeFolder, noHomeAdvice, pathBelow } from "../process/userFolders.ts"
import { makeOwnerOnlyStore } from "./OwnerOnlyStore.ts"

/** `path` is the credentials file, by default {@link defaultCredentialPath}. */
export interface FileCredentialStoreOptions {
  readonly path?: string
}

/** Maximum file size in bytes: enough for hundreds of servers. */
const maxFileBytes = 1024 * 1024

/** The credentials file in the configuration folder of the user, if that is known. */
export const defaultCredentialPath = (
  env: { readonly [name: string]: string | undefined } = process.env,
  platform: NodeJS.Platform = process.platform,
  home: string | undefined = homeFolder()
): string | undefined => {
  if (platform === "win32") {
    const roaming = env["APPDATA"] ?? ""
    const folder = roaming === "" ? home && win32.join(home, "AppData", "Roaming") : roaming
    return folder && win32.join(folder, "a2c", "credentials.json")
  }
  return pathBelow(env["XDG_CONFIG_HOME"], home, ".config", "a2c", "credentials.json")
}

const parseEntries = (servers: JsonObject): Result.Result<Map<string, string>, string> => {
  const entries = Object.entries(servers)
  return entries.every((entry): entry is [string, string] => typeof entry[1] === "string")
    ? Result.succeed(new Map(entries))
    : Result.fail("the credentials of each server must be a string")
}

const make = (file: string) => {
  const store = makeOwnerOnlyStore(file, {
    name: "credentials",
    member: "servers",
    maxBytes: maxFileBytes,
    toError: (message) => new CredentialsUnavailable({ message })
  })
  return CredentialStore.of({
    read: (server) =>
      Effect.map(store.read(parseEntries), (entries) =>
        Option.map(Option.fromUndefinedOr(entries.get(server)), Redacted.make)
      ),
    write: (server, credentials) =>
      store.update(parseEntries, (entries) => Object.fromEntries(entries.set(server, Redacted.value(credentials)))),
    remove: (server) =>
      store.update(parseEntries, (entries) => (entries.delete(server) ? Object.fromEntries(entries) : undefined))
  })
}

/** Fails every use: an unknown home folder concerns only Computers whose MCP servers need credentials. */
const unavailable = Effect.suspend(() =>
  Effect.fail(new CredentialsUnavailable({ message: `Cannot keep credentials: ${noHomeAdvice("XDG_CONFIG_HOME")}` }))
)

const withoutFile = { read: () => unavailable, write: () => unavailable, remove: () => unavailable }

/**
 * Stores credentials in one JSON file with access for its owner only. A file that others have access to, or that is
 * invalid, is rejected and not overwritten.
 */
export const layer = ({ path }: FileCredentialStoreOptions = {}): Layer.Layer<CredentialStore> =>
  Layer.sync(CredentialStore, () => {
    const file = path ?? defaultCredentialPath()
    return file === undefined ? CredentialStore.of(withoutFile) : make(file)
  })
