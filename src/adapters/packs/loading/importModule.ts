/**
 * Imports a module by its address. This stands apart from everything else so that the program that tests us leaves the
 * import to Node, as it is everywhere else.
 */
export const importModule = (url: string): Promise<unknown> => import(url)
