function t(n){let{path:o,goal:r}=n?.tolerances??{path:null,goal:null};return o||r||.1}function e(n){return[...new Set(n?.joints.map(o=>o.unit))].join(" or ")}export{t as a,e as b};
