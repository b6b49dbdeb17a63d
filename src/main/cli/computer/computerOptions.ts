import { resolve } from "node:path"
import { userStateFile } from "../../../adapters/process/userFolders.ts"
import { definedOnly } from "../../../domain/objects.ts"
import { defaultServerUrl } from "../flags/sharedFlags.ts"
import { joinOptions } from "../office/joinFlags.ts"
import type { ComputerCommandOptions } from "./flags.ts"

/** The flags of a Computer; a device has fewer of them. */
export type ConfiguredComputerOptions = Pick<
  ComputerCommandOptions,
  "name" | "configFiles" | "inputs" | "approve" | "watch"
> &
  Partial<
    Pick<
      ComputerCommandOptions,
      | "server"
      | "tokenFile"
      | "tlsCa"
      | "protocol"
      | "takeOver"
      | "wait"
      | "allWindows"
      | "policy"
      | "approvers"
      | "approvalTimeout"
      | "approvals"
      | "lifecycle"
      | "idle"
      | "audit"
      | "dpe"
      | "dpeUrl"
      | "skills"
      | "marketplaces"
      | "uploads"
      | "operators"
      | "shareStderr"
    >
  >

/** The folders for skills and uploads, as absolute paths. */
const folderOptions = ({ marketplaces = [], skills, uploads }: ConfiguredComputerOptions) => ({
  skills: {
    userFolder: skills === undefined ? undefined : resolve(skills),
    marketplaces: marketplaces.map((folder) => resolve(folder))
  },
  ...(uploads !== undefined && { uploads: { folder: resolve(uploads) } })
})

/** The options of the layers that follow from the flags alone. */
export const toComputerOptions = (options: ConfiguredComputerOptions) => {
  const { allWindows = false, approvalTimeout, approve, approvers = ["terminal"], audit, idle, lifecycle } = options
  const {
    approvals,
    name,
    operators: calls = false,
    server: url = defaultServerUrl,
    shareStderr: stderr = false
  } = options
  const approvalsPath = approvals ?? userStateFile("approvals.json")
  return {
    layer: {
      url,
      name,
      ...joinOptions(options),
      ...folderOptions(options),
      operators: { calls, stderr },
      settings: {
        approve,
        approvers: approvers.filter((approver) => approver !== "terminal"),
        showUnsubscribable: allWindows,
        ...definedOnly({ approvalTimeout, idle, lifecycle })
      }
    },
    approvers,
    /** Missing without a home folder. */
    approvalsFile: approvalsPath === undefined ? undefined : resolve(approvalsPath),
    audit: audit === undefined ? undefined : { file: audit }
  }
}
