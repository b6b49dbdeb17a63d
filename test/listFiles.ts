import { globSync } from "node:fs"

/** The paths of the files below a folder of the project, without those of installed packages. */
export const listFiles = (folder: string): ReadonlyArray<string> =>
  globSync(`${folder}/**/*.*`, { exclude: (path) => path.endsWith("node_modules") }).map((path) =>
    path.replaceAll("\\", "/")
  )
