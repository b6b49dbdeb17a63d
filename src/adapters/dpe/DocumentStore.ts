import type { DpeDocument } from "./resolver.ts"

/** Bounded in-memory documents. The oldest are evicted first. */
export interface DocumentStore {
  /** Stores a document and replaces the one with the same id. A single document must fit the limits. */
  readonly put: (id: string, document: DpeDocument, expiresAt: number) => void
  readonly get: (id: string) => DpeDocument | undefined
  /** Times are in milliseconds since 1970. */
  readonly removeExpired: (now: number) => void
  readonly usage: () => { readonly documents: number; readonly bytes: number }
}

export const makeDocumentStore = (maxDocuments: number, maxBytes: number): DocumentStore => {
  /** Oldest first. */
  const entries = new Map<string, { readonly document: DpeDocument; readonly expiresAt: number }>()
  let bytes = 0

  const remove = (id: string): void => {
    bytes -= entries.get(id)?.document.bytes.byteLength ?? 0
    entries.delete(id)
  }

  return {
    put: (id, document, expiresAt) => {
      remove(id)
      entries.set(id, { document, expiresAt })
      bytes += document.bytes.byteLength
      for (const oldest of entries.keys()) {
        if (entries.size <= maxDocuments && bytes <= maxBytes) return
        remove(oldest)
      }
    },
    get: (id) => entries.get(id)?.document,
    removeExpired: (now) => {
      for (const [id, { expiresAt }] of entries) if (expiresAt <= now) remove(id)
    },
    usage: () => ({ documents: entries.size, bytes })
  }
}
