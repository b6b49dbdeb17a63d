/** Where a Server serves the office page, with its files and requests below. */
export const officePagePath = "/office"

/** Where a Server serves its pages for monitoring. */
export const serverPagePaths = ["/healthz", "/readyz", "/metrics", "/status"] as const
