import type { DpeDocument } from "./resolver.ts"

/** Documents in memory, up to bounds: who puts one more loses the least recently made. */
export interface DocumentStore {
  /** Keeps a document under its id; the one of that id, if any, makes way. It must fit the bounds by itself. */
  readonly put: (id: string, document: DpeDocument, expiresAt: number) => void
  readonly get: (id: string) => DpeDocument | undefined
  /** Drops what has expired. Times are in milliseconds since 1970. */
  readonly removeExpired: (now: number) => void
  readonly usage: () => { readonly documents: number; readonly bytes: number }
}

/** A shelf for so many documents and bytes. */
export const makeDocumentStore = (maxDocuments: number, maxBytes: number): DocumentStore => {
  /** Least recently made first. */
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
