import type { FunctionWindow } from "./FunctionDefinitions.ts"

export interface PageWindowOptions extends Partial<Pick<FunctionWindow, "name" | "title" | "priority" | "fullscreen">> {
  /** The part of the page to show; its whole body by default. */
  readonly root?: { readonly innerText: string }
}

declare const document: { readonly title: string; readonly body: { readonly innerText: string } }
declare const location: { readonly href: string }
declare const MutationObserver: new (
  onMutations: () => void
) => {
  readonly observe: (root: object, options: object) => void
  readonly disconnect: () => void
}

/** In milliseconds: a page may change with every frame. */
const settleTime = 500

/** In characters. */
const maxTextLength = 64 * 1024

/** Makes a window of this page: its title, its address and the text that a person sees, with each change of it. */
export const pageWindow = ({
  name = "page",
  root = document.body,
  ...window
}: PageWindowOptions = {}): FunctionWindow => ({
  name,
  ...window,
  text: {
    subscribe: (listener) => {
      let timer: ReturnType<typeof setTimeout> | undefined
      const show = () => {
        timer = undefined
        listener(`${document.title}\n${location.href}\n\n${root.innerText.slice(0, maxTextLength)}`)
      }
      const observer = new MutationObserver(() => {
        timer ??= setTimeout(show, settleTime)
      })
      observer.observe(root, { subtree: true, childList: true, characterData: true })
      show()
      return () => {
        observer.disconnect()
        clearTimeout(timer)
      }
    }
  }
})
