/** Version of this package, as in package.json; a test keeps the two together. */
export const packageVersion = "0.1.0"
