/** When a file of the audit is full, in bytes, and how many full ones are kept. */
export interface AuditRotation {
  readonly maxBytes: number
  readonly keep: number
}

/** About half a million calls in a file, and a few million on the disk. */
export const defaultAuditRotation: AuditRotation = { maxBytes: 128 * 1024 * 1024, keep: 8 }
