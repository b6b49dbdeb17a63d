import { blobNotAccessible } from "../blobs/blobErrors.ts"
import { errorCodes, ProtocolError } from "../model/ProtocolError.ts"
import { definedOnly } from "../objects.ts"

/** Why a file of a skill cannot be read. The set is open: `io_error` is an addition. */
export type SkillFileReason = "traversal" | "forbidden" | "not_found" | "too_large" | "io_error"

export const invalidSkillName = (name: string) =>
  new ProtocolError({ code: errorCodes.invalidSkillName, message: "Invalid skill name format", details: { name } })

/** The Computer has no skill with this name, or its source has disconnected. */
export const skillNotFound = (name: string) =>
  new ProtocolError({ code: errorCodes.mcpServerNotFound, message: "Skill not found", details: { name } })

/** A file of a skill cannot be read; `totalSize` in bytes for one that is too large. */
export const skillFileNotAccessible = (reason: SkillFileReason, relPath: string, totalSize?: number) =>
  new ProtocolError({
    code: errorCodes.skillFileNotAccessible,
    message: "Skill resource not accessible",
    details: { reason, rel_path: relPath, ...definedOnly({ total_size: totalSize }) }
  })

/** A file of a skill has changed since its size and hash were sent. The Agent requests the file again. */
export const skillFileChanged = () => blobNotAccessible("gone")

/** The error of a request for a blob whose file of a skill cannot be read. */
export const toBlobError = (error: ProtocolError): ProtocolError => {
  const { code, details } = error
  const reason = details?.["reason"]
  if (code === errorCodes.invalidSkillName) return blobNotAccessible("invalid_handle")
  if (code !== errorCodes.mcpServerNotFound && code !== errorCodes.skillFileNotAccessible) return error
  return blobNotAccessible(reason === "traversal" ? "invalid_handle" : reason === "forbidden" ? "forbidden" : "gone")
}
