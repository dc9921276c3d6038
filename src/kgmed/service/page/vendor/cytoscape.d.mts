// What the page uses of cytoscape.mjs, for `tsc --checkJs`; nothing else reads it.

export default function cytoscape(options: any): any;
