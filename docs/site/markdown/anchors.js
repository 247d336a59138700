/** The anchor that GitHub makes of a heading, as `slug` in common/tools/pages/page_rules.py. */
export const slug = (heading) => heading.trim().toLowerCase().replace(/[^\p{L}\p{N}_\- ]/gu, '').replace(/ /g, '-')
