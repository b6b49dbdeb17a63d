/** Size at which an audit file is rotated, and the number of rotated files. */
export interface AuditRotation {
  readonly maxBytes: number
  readonly keep: number
}

/** About half a million calls per file, and a few million in all files. */
export const defaultAuditRotation: AuditRotation = { maxBytes: 128 * 1024 * 1024, keep: 8 }
