/** Imports a module by URL. A separate file, so vitest can leave this import to Node. */
export const importModule = (url: string): Promise<unknown> => import(url)
