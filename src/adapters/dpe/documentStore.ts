import type { DpeDocument } from "./resolver.ts"

/** Bounded in-memory documents. The oldest are evicted first. Times are in milliseconds since 1970. */
export const makeDocumentStore = (maxDocuments: number, maxBytes: number) => {
  /** Oldest first. */
  const entries = new Map<string, { readonly document: DpeDocument; readonly expiresAt: number }>()
  let bytes = 0

  const remove = (id: string): void => {
    bytes -= entries.get(id)?.document.bytes.byteLength ?? 0
    entries.delete(id)
  }

  return {
    /** Replaces a document with the same id. A single document must fit the limits. */
    put: (id: string, document: DpeDocument, expiresAt: number): void => {
      remove(id)
      entries.set(id, { document, expiresAt })
      bytes += document.bytes.byteLength
      for (const oldest of entries.keys()) {
        if (entries.size <= maxDocuments && bytes <= maxBytes) return
        remove(oldest)
      }
    },
    get: (id: string): DpeDocument | undefined => entries.get(id)?.document,
    removeExpired: (now: number): void => {
      for (const [id, { expiresAt }] of entries) if (expiresAt <= now) remove(id)
    },
    usage: () => ({ documents: entries.size, bytes })
  }
}
