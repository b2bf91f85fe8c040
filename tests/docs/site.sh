#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The site is built without a warning, no link of it is dead, its search knows every public function and verb, and a
# page that leads nowhere is refused.
#
# 77: no mkdocs, scdoc or mandoc: nothing is built.
# ctest: long release
set -euo pipefail
root=$(realpath "$(dirname "$0")/../..")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
fail() { echo "site: $*" >&2; exit 1; }
status=0
"$root/tools/site.sh" "$place/site" >"$place/said" 2>&1 || status=$?
if [ $status -eq 3 ]; then
  echo "$(cat "$place/said"): the site is not built" >&2
  exit 77
fi
[ $status -eq 0 ] || fail "$(grep -v '^INFO' "$place/said" | tail -n 20)"
tail -n 1 "$place/said"

index=$place/site/search/search_index.json
functions=$(sed -n '/^PREM_API\|^static inline/,/[;{]/p' "$root"/include/ttprem/*.h | grep -oE '\bprem_[a-z0-9_]+\(' | tr -d '(' | sort -u)
[ "$(wc -w <<<"$functions")" -ge 230 ] || fail "only $(wc -w <<<"$functions") public functions are found"
for function in $functions; do
  grep -q "\b$function\b" "$index" || fail "the search does not know $function"
done
if command -v node >/dev/null; then
  node "$root/tests/docs/site_search.js" "$place/site" <<<"$functions" || fail 'the search does not lead to each function'
fi
grep -q '^var search_index = {"config"' "$place/site/search/search_index.js" || fail 'no search where the site is opened from a folder'
grep -q 'searchFromFolder();' "$place/site/search/main.js" || fail 'the pages do not know how to search from a folder'
# As who opens the folder sees it: no server, so no worker and no request.
if command -v chromium >/dev/null; then
  (export HOME=$place # its settings and caches
    timeout 60 chromium --headless --no-sandbox --disable-gpu --virtual-time-budget=10000 --dump-dom \
      "file://$place/site/index.html?q=prem_live_submit" >"$place/dom" 2>/dev/null) || fail 'chromium does not show the page'
  grep -q 'article.*href="[^"]*api/live.h.html#prem_live_submit"' "$place/dom" || fail 'a search from the folder finds nothing'
fi
for page in index.html docs/tutorial.html man/ttprem-plan.html api/plan_file.h.html llms.txt llms-full.txt; do
  [ -s "$place/site/$page" ] || fail "no $page"
done
grep -q 'Nothing is searched, so' "$place/site/man/ttprem-plan.html" || fail 'man/ttprem-plan.html is empty'
for code in E001 E045; do grep -q $code "$index" || fail "the search does not know $code"; done

# What is wrong is found: a link to nothing, and one to a heading that is not there.
mkdir "$place/tree"
git -C "$root" ls-files -z --cached --others --exclude-standard | (cd "$root" && tar --null -T - -cf - --ignore-failed-read 2>/dev/null) |
  tar xf - -C "$place/tree"
sed -i 's/(terms.md)/(words.md)/; 0,/(terms.md#[a-z-]*)/s//(words.md)/' "$place/tree/docs/tutorial.md"
echo 'See [there](words.md).' >>"$place/tree/docs/tutorial.md"
if "$place/tree/tools/site.sh" "$place/other" >"$place/said" 2>&1; then fail 'a link to nothing goes unnoticed'; fi
grep -q 'words.md leads nowhere' "$place/said" || fail "$(tail -n 3 "$place/said")"
[ "$(grep -o 'href="terms.html"' "$place/site/docs/tutorial.html" | wc -l)" -gt 0 ] || fail 'the tutorial leads to no terms'
sed -i 's/href="terms.html"/href="terms.html#no-such-heading"/' "$place/site/docs/tutorial.html"
if python3 "$root/tools/site.py" check "$place/site" >"$place/said" 2>&1; then fail 'a dead anchor goes unnoticed'; fi
grep -q 'dead link: .*no-such-heading' "$place/said" || fail "$(tail -n 3 "$place/said")"
