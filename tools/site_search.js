// Opened from a folder a page may start no worker and read no file: what the worker has comes by tags then, and only
// when somebody searches, for it takes a second.
function searchFromFolder() {
  var names = ['lunr.js', 'search_index.js', 'worker.js'], begun = false;
  function next() {
    if (!names.length) {
      data = search_index;
      window.postMessage = function (message) { onWorkerMessage({data: message}); };
      onScriptsLoaded();
      doSearch();
      return;
    }
    var tag = document.createElement('script');
    tag.src = joinUrl(base_url, 'search/' + names.shift());
    tag.onload = next;
    document.head.appendChild(tag);
  }
  function begin() {
    if (!begun) next();
    begun = true;
  }
  window.Worker = null; // results are asked for in the page
  document.getElementById('mkdocs-search-query').addEventListener('focus', begin);
  if (getSearchTermFromLocation()) begin();
}
