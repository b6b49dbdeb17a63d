import { Layer, Result } from "effect"
import { ApprovalStore, ApprovalsUnavailable } from "../../application/ports/approvals/ApprovalStore.ts"
import { noApprovals, storedApprovalsCodec } from "../../domain/approvals/standingApprovals.ts"
import { makeOwnerOnlyStore } from "../credentials/OwnerOnlyStore.ts"

/** Maximum file size in bytes: enough for the definitions of a thousand tools. */
const maxFileBytes = 32 * 1024 * 1024

/** Writes URLs of one Server alike: `HTTP://localhost:7070/` as `http://localhost:7070`. */
const comparableUrl = (text: string): string => {
  if (!URL.canParse(text)) return text
  const { host, pathname, protocol } = new URL(text)
  return `${protocol.replace(/^ws/, "http")}//${host}${pathname.replace(/\/+$/, "")}`
}

/**
 * Keeps the approvals of Computers in one JSON file with access for its owner only. A file that others have access to, or
 * that is invalid, is rejected and not overwritten. What is allowed to the members of one Server, by its URL, does not
 * count at another. `configSource` names the files of the configuration.
 */
export const layer = (file: string, server: string, configSource?: string): Layer.Layer<ApprovalStore> =>
  Layer.sync(ApprovalStore, () => {
    const store = makeOwnerOnlyStore(file, {
      name: "approvals",
      member: "computers",
      maxBytes: maxFileBytes,
      toError: (message) => new ApprovalsUnavailable({ message })
    })
    const keyOf = (computer: string) => `${computer} at ${comparableUrl(server)}`
    return ApprovalStore.of({
      configSource,
      load: (computer) =>
        store.read((computers) => {
          const key = keyOf(computer)
          return Object.hasOwn(computers, key)
            ? storedApprovalsCodec.decode(computers[key])
            : Result.succeed(noApprovals)
        }),
      save: (computer, approvals) =>
        store.update(Result.succeed, (computers) => ({
          ...computers,
          [keyOf(computer)]: storedApprovalsCodec.encode(approvals)
        }))
    })
  })
