declare module "@micropython/micropython-webassembly-pyscript/micropython.mjs" {
  /** The parts of MicroPython for WebAssembly that tests use; the package has no types. */
  export interface MicroPython {
    readonly FS: { readonly writeFile: (path: string, text: string) => void }
    readonly globals: { readonly get: (name: string) => (...args: ReadonlyArray<string>) => string }
    readonly runPython: (program: string) => void
  }
  export const loadMicroPython: () => Promise<MicroPython>
}
