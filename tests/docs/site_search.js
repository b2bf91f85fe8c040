// The search of a site as a page has it: each name of stdin leads first to a header's page.
//   node site_search.js SITE <NAMES
'use strict';
const fs = require('fs');
const lunr = require(process.argv[2] + '/search/lunr.js');
const data = JSON.parse(fs.readFileSync(process.argv[2] + '/search/search_index.json'));
lunr.tokenizer.separator = new RegExp(data.config.separator);
const index = lunr(function () {
  this.field('title');
  this.field('text');
  this.ref('location');
  data.docs.forEach((page) => this.add(page));
});
const names = fs.readFileSync(0, 'utf8').trim().split('\n');
let lost = 0;
for (const name of names) {
  const found = index.search(name);
  if (found.length && found[0].ref.startsWith('api/')) continue;
  console.log(`site: the search for ${name} leads to ${found.length ? found[0].ref : 'nothing'}`);
  lost = 1;
}
process.exitCode = lost;
